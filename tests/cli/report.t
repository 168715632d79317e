# SPDX-License-Identifier: MIT
# One page for a browser. What it shows there is tests/page's; where there was no npm, one line says so.

$ xray report $TOP/tests/data/zen4.json -o p.html 2> err; case $? in 0) ! test -s err ;; 2) grep -qx 'xray: this xray was built without the page, which takes npm: `make page` builds it' err && ! test -e p.html ;; esac && echo said
said

# Whatever is in it, the page has no way out of its file: two scripts, its own policy, no address but the SVG name space's.
$ ! test -e p.html || { grep -o '<script[^>]*>' p.html | sort | uniq -c | tr -s ' '; grep -c "default-src 'none'" p.html; } > has; test ! -e p.html || cat has | tr '\n' ';' | grep -qx ' 1 <script type="application/json" id="description">; 1 <script type="module">;1;' && echo so
so

# Numbers of the description are in the page.
$ ! test -e p.html || grep -q '"cache.l1d.capacity":{"status":"ok","value":32768,' p.html && echo there
there

# Without npm, and that is no error, there is an empty page and one line; for who wants one, it is.
$ mkdir bin; for t in sh dirname mkdir cmp cp rm mv timeout; do ln -s "$(command -v $t)" bin/$t; done; W=$PWD; cd $TOP && PATH=$W/bin scripts/page $W/none.html && test ! -s $W/none.html
2| xray: no page for `xray report`: there is no npm (`make page` installs it)
$ W=$PWD; cd $TOP && PATH=$W/bin scripts/page --must $W/must.html; echo $?; test -e $W/must.html || echo none
1
none
2| xray: no page for `xray report`: there is no npm (`make page` installs it)
$ xray report
2| xray: `xray report` needs FILE -o OUT; see `xray report --help`
? 2
$ xray report none.json -o q.html
2| xray: cannot read none.json: *
? 2
$ xray report $TOP/tests/data/zen4.json -o /none/such/q.html
2| xray: *
? 2

# The picture in README is what the program prints today; another one: scripts/screenshot build/xray tests/data/genoa.json docs/report.svg
$ command -v script > /dev/null || exit 0; unset NO_COLOR; cd $TOP && scripts/screenshot "$(command -v xray)" tests/data/genoa.json "$OLDPWD/r.svg" && cmp "$OLDPWD/r.svg" docs/report.svg

# One screen: at most 40 lines, none wider than the screen, however narrow, and whatever a file says about itself.
$ sed 's/"cpu": "[^"]*"/"cpu": "'$(printf %01000d 0)'"/; s/"os": "[^"]*"/"os": "'"$(seq -s ' ' 300)"'"/' $TOP/tests/data/genoa.json > long.json; for w in 40 41 47 53 60 72 80 100 300; do for f in $TOP/tests/data/*.json long.json; do COLUMNS=$w xray show $f | awk -v most=$w -v name="$f at $w" 'length($0) > most { print name ": too wide: " $0 } END { if (NR < 30 || NR > 40) print name ": " NR " lines" }'; done; done
$ COLUMNS=20 xray show $TOP/tests/data/genoa.json | awk 'length($0) > 40'; COLUMNS=-3 xray show $TOP/tests/data/genoa.json > a; COLUMNS=wide xray show $TOP/tests/data/genoa.json | cmp - a; xray show $TOP/tests/data/genoa.json | cmp - a
