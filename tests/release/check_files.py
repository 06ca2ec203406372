"""Checks the files of a wheel and an sdist: `python check_files.py topktree.whl topktree.tar.gz`.

The wheel has what the package needs to run and nothing else; the sdist what is needed to build and test it. Problems
are listed on stderr, and the exit code is 1.
"""

import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

SOURCE = Path(__file__).parents[2]

SDIST_NEEDS = {
    "CHANGELOG.md",
    "CITATION.cff",
    "CMakeLists.txt",
    "LICENSE",
    "Makefile",
    "PKG-INFO",
    "README.md",
    "cpp/bindings/module.cpp",
    "cpp/topk/search/node_search.cpp",
    "docs/search.md",
    "pyproject.toml",
    "src/topktree/py.typed",
    "tests/conftest.py",
    "tests/cpp/support/check.hpp",
    "tests/support/models/model-v1.json",
}
SDIST_LACKS = {".ci", ".git", ".venv", "build", "dist", "__pycache__", ".hypothesis", ".pytest_cache", ".ruff_cache"}
SDIST_BYTES = 8_000_000
WHEEL_BYTES = 4_000_000


def wheel_files(path):
    with zipfile.ZipFile(path) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def sdist_files(path):
    """Without the folder all of them are in."""
    with tarfile.open(path) as archive:
        return {str(PurePosixPath(*PurePosixPath(member.name).parts[1:])) for member in archive if member.isfile()}


def package_files():
    """The package in the source tree, as paths within a wheel."""
    package = SOURCE / "src"
    paths = (path for path in (package / "topktree").rglob("*") if path.is_file())
    return {path.relative_to(package).as_posix() for path in paths if "__pycache__" not in path.parts}


def wheel_problems(files):
    compiled = {name for name in files if name.endswith((".so", ".pyd"))}
    extra = {name for name in files - compiled - package_files() if ".dist-info/" not in name}
    if len(compiled) != 1 or not next(iter(compiled), "").startswith("topktree/_core."):
        yield f"the wheel has the compiled modules {sorted(compiled)}; allowed is topktree/_core alone"
    if not any(name.endswith("/licenses/LICENSE") for name in files):
        yield "the wheel lacks the licence"
    yield from (f"the wheel lacks {name}" for name in sorted(package_files() - files))
    yield from (f"the wheel has {name}, which is no part of the package" for name in sorted(extra))


def sdist_problems(files):
    yield from (f"the sdist lacks {name}" for name in sorted(SDIST_NEEDS - files))
    for name in sorted(files):
        if SDIST_LACKS & set(PurePosixPath(name).parts):
            yield f"the sdist has {name}"


def main():
    wheel, sdist = map(Path, sys.argv[1:])
    problems = [*wheel_problems(wheel_files(wheel)), *sdist_problems(sdist_files(sdist))]
    for path, limit in ((wheel, WHEEL_BYTES), (sdist, SDIST_BYTES)):
        if path.stat().st_size > limit:
            problems.append(f"{path.name} has {path.stat().st_size} bytes; allowed are {limit}")
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
