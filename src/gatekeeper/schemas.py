"""`python -m gatekeeper.schemas [FOLDER]` writes the published JSON Schemas, by default into docs/schemas.

Both come from the code that reads and writes the documents, and a test fails where the files in
the repository are not what this would write.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from gatekeeper import policy
from gatekeeper.report import schema

FOLDER = Path("docs/schemas")
"""Where the schemas stand in this project."""


def files() -> dict[str, str]:
    """The files' names and their whole text."""
    documents = {
        "policy.schema.json": policy.json_schema(),
        "report.schema.json": schema.json_schema(),
    }
    return {name: json.dumps(document, indent=2) + "\n" for name, document in documents.items()}


def main(folder: Path) -> None:
    """Write the files into the folder, which is made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
