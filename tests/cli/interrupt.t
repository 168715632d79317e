# SPDX-License-Identifier: MIT
# Ctrl-C keeps what was found and says so.

$ xray -v --no-cache --json kept.json timer op registers cache tlb > out 2> err & pid=$!; until grep -qs 'timer done' err; do sleep 0.1; done; kill -INT $pid; wait $pid; echo $?; grep interrupted err; grep -o '"timer.resolution": {"status": "ok"' kept.json; grep -c 'op.*interrupted' kept.json > /dev/null
1
xray: interrupted: * facts were found and are kept
"timer.resolution": {"status": "ok"
