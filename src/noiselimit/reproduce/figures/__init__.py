"""The paper's figures: what runs leave for them, and how that is drawn."""
