"""`python prepare.py FOLDER` fills the folder with good files."""

import sys
import warnings
from pathlib import Path

from samples import write_samples

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write_samples(Path(sys.argv[1]))
