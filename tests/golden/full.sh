# SPDX-License-Identifier: MIT
# The whole report, and tables for a selection.
"$XRAY" show --full tests/data/zen4.json
echo ---
"$XRAY" show tests/data/zen4.json cache op.add
