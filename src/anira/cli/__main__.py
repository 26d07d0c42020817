"""`python -m anira.cli`, the same as the script `anira`."""

import sys

from anira.cli import main

sys.exit(main())
