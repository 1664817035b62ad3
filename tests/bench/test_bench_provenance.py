"""The commit of a checkout, and nothing where the package is not in one."""

import subprocess

import pytest

from noiselimit.bench.provenance import source_state


def git(folder, *arguments):
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    package = tmp_path / "src" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return package


def test_a_checkout_and_whether_it_was_changed(checkout):
    commit = git(checkout, "rev-parse", "HEAD")
    assert source_state(checkout) == (commit, False)
    (checkout.parent.parent / "bench.json").write_text("{}")  # beside the package
    assert source_state(checkout) == (commit, False)
    (checkout / "new.py").write_text("")
    assert source_state(checkout) == (commit, True)


def test_a_commit_that_is_named_is_not_checked(checkout, monkeypatch):
    monkeypatch.setenv("NOISELIMIT_COMMIT", "0123456789abcdef")
    assert source_state(checkout) == ("0123456789abcdef", None)


def test_a_package_that_the_repository_around_it_does_not_know_is_no_checkout(checkout):
    installed = checkout.parent / "site-packages" / "package"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    assert source_state(installed) == (None, None)
