"""Link `.view/recalld/<part>` to the folders that pyproject.toml maps, for type checkers."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Create the links; existing right ones stay as they are."""
    mapping = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"][
        "package-dir"
    ]
    for package, folder in mapping.items():
        link = ROOT / ".view" / Path(*package.split("."))
        link.parent.mkdir(parents=True, exist_ok=True)
        target = ROOT / folder
        if link.resolve() == target:
            continue
        link.unlink(missing_ok=True)
        link.symlink_to(target, target_is_directory=True)


if __name__ == "__main__":
    main()
