"""``python -m sdgrad.cli`` is the command ``sdgrad``."""

import sys

from sdgrad.cli.main import main

sys.exit(main())
