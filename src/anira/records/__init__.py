"""What `evaluation` and `analysis` agree on about records: their version, their columns, and what must hold in them."""

from typing import Final

RECORDS_VERSION: Final = 4
"""2 has the token column `ce`, 3 has `change`, 4 has `lens`; all are read."""
ASKED: Final = "evaluation.json"
"""The file that says what was asked, whether it is complete, and which tables there are, with their check-sums."""
