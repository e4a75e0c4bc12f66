#!/usr/bin/env python
"""Django's command line for OctoStore; `manage.py serve` runs everything.

Reads `.env` beside this file, where there is one; what the environment says already wins.
"""

import os
import sys
from pathlib import Path


def main() -> None:
    # Here, so that Ctrl-C while they are loaded is no traceback.
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from dotenv import load_dotenv

    load_dotenv(Path(__file__).with_name(".env"))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "octostore.settings")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"OctoStore cannot start: {error}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
