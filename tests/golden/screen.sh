# SPDX-License-Identifier: MIT
# The report of one screen: a pipe, no Unicode; then with Unicode; then as narrow as terminals get.
"$XRAY" show tests/data/zen4.json
echo ---
LC_ALL=C.UTF-8 "$XRAY" show tests/data/icelake.json
for columns in 80 60 40; do
	echo ---
	COLUMNS=$columns "$XRAY" show tests/data/genoa.json
done
