# SPDX-License-Identifier: MIT
# A remote target: any command that runs a program elsewhere. Where no ssh server is to be had, a wrapper does what ssh does:
# it copies the program to another place and runs it there, with pipes between.
. tests/targets/lib.sh

there=$TMPDIR/elsewhere
mkdir -p "$there"
cat > "$TMPDIR/elsewhere.sh" << 'RUN'
#!/bin/sh
# copies the program and runs it from there; its arguments go along
program=$1
shift
copy=$(mktemp "$THERE/agent.XXXXXX") || exit 1
cp "$program" "$copy" && chmod +x "$copy" || exit 1
cat | "$copy" "$@" | cat
rm -f "$copy"
RUN
chmod +x "$TMPDIR/elsewhere.sh"
THERE=$there
export THERE
"$XRAY" --runner "$TMPDIR/elsewhere.sh" --json "$TMPDIR/remote.json" --quiet --quick timer registers.int \
	> "$TMPDIR/remote.log" 2>&1
[ -n "$(fact "$TMPDIR/remote.json" registers.int)" ]
result 'remote: measured through a command that copies and runs' $? "$TMPDIR/remote.log"
says remote "$TMPDIR/remote.json" '"runner": "'

# A connection that breaks: the run ends with reasons, and nothing is left running.
cat > "$TMPDIR/breaks.sh" << 'RUN'
#!/bin/sh
# answers the first lines, then is gone
program=$1
shift
head -n 3 | "$program" "$@"
RUN
chmod +x "$TMPDIR/breaks.sh"
timeout 120 "$XRAY" --runner "$TMPDIR/breaks.sh" --quiet --quick timer frequency > "$TMPDIR/breaks.log" 2>&1
status=$?
[ $status != 0 ] && [ $status -lt 5 ]
result 'remote: a connection that breaks is said, with a status' $? "$TMPDIR/breaks.log"
sleep 1
! pgrep -f "$there" > /dev/null 2>&1
result 'remote: nothing is left running' $?
