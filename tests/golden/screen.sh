# SPDX-License-Identifier: MIT
# The report of one screen: a pipe, no Unicode; then with Unicode and with a narrow terminal's width.
"$XRAY" show tests/data/zen4.json
echo ---
LC_ALL=C.UTF-8 "$XRAY" show tests/data/icelake.json
