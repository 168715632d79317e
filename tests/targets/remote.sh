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

# ssh itself, where there is a server: one of our own, on a port of this machine, that knows one key.
server=$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v sshd) || server=
port=$((20000 + $$ % 20000))
if [ -n "$server" ] && command -v ssh > /dev/null && ssh-keygen -q -t ed25519 -N '' -f "$TMPDIR/host_key" &&
	ssh-keygen -q -t ed25519 -N '' -f "$TMPDIR/user_key"; then
	cp "$TMPDIR/user_key.pub" "$TMPDIR/authorized"
	mkdir -p "$TMPDIR/far"
	printf '%s\n' "Port $port" 'ListenAddress 127.0.0.1' "HostKey $TMPDIR/host_key" "AuthorizedKeysFile $TMPDIR/authorized" \
		'PasswordAuthentication no' 'KbdInteractiveAuthentication no' 'UsePAM no' 'StrictModes no' 'PermitRootLogin yes' \
		"PidFile $TMPDIR/sshd.pid" "SetEnv TMPDIR=$TMPDIR/far" > "$TMPDIR/sshd_config"
	printf '%s\n' 'Host board' 'HostName 127.0.0.1' "Port $port" "IdentityFile $TMPDIR/user_key" 'IdentitiesOnly yes' \
		"UserKnownHostsFile $TMPDIR/known" 'StrictHostKeyChecking no' 'LogLevel ERROR' > "$TMPDIR/ssh_config"
	[ "$(id -u)" != 0 ] || [ -d /run/sshd ] || mkdir -p /run/sshd # where it puts itself away
	"$server" -D -e -f "$TMPDIR/sshd_config" 2> "$TMPDIR/sshd.log" &
	sshd=$!
	for _ in $(seq 240); do # on a busy machine it takes a while to start
		ssh -F "$TMPDIR/ssh_config" -o BatchMode=yes board true 2> "$TMPDIR/ssh.log" && break
		sleep 0.5
	done
	# what is there already is run where it is; what is not is copied first
	for runner in "ssh -F $TMPDIR/ssh_config -T board" "targets/over-ssh board"; do
		word=${runner%% *}
		XRAY_SSH="ssh -F $TMPDIR/ssh_config" "$XRAY" --runner "$runner" --json "$TMPDIR/ssh.json" --quiet --quick \
			timer registers.int > "$TMPDIR/ssh.log" 2>&1
		[ -n "$(fact "$TMPDIR/ssh.json" registers.int)" ]
		result "remote: measured through $word" $? "$TMPDIR/ssh.log"
		rm -f "$TMPDIR/ssh.json"
	done
	# the server goes while it is asked: said, with a status, and nothing stays
	XRAY_SSH="ssh -F $TMPDIR/ssh_config" timeout 600 "$XRAY" --runner 'targets/over-ssh board' --quiet cache tlb op \
		> "$TMPDIR/gone.log" 2>&1 &
	asks=$!
	for _ in $(seq 300); do # it is there, and asked
		pgrep -f "$TMPDIR/far/xray" > /dev/null 2>&1 && break
		sleep 1
	done
	sleep 1
	pkill -P "$sshd" 2> /dev/null
	kill "$sshd"
	wait "$asks"
	status=$?
	[ $status -gt 0 ] && [ $status -lt 5 ]
	result "remote: a server that goes away is said, with a status ($status)" $? "$TMPDIR/gone.log"
	for _ in $(seq 120); do # whoever runs there notices, and cleans up
		ls "$TMPDIR/far" > "$TMPDIR/left"
		grep -q . "$TMPDIR/left" || break
		sleep 1
	done
	! grep -q . "$TMPDIR/left"
	result 'remote: nothing is left there' $? "$TMPDIR/left"
else
	echo 'ok targets: remote: ssh # SKIP no server here'
fi

# A connection that breaks: the run ends with reasons, or is met again with the experiments built in, and nothing is left running.
cat > "$TMPDIR/breaks.sh" << 'RUN'
#!/bin/sh
# answers the first lines, then is gone
program=$1
shift
head -n 3 | "$program" "$@"
RUN
chmod +x "$TMPDIR/breaks.sh"
timeout 600 "$XRAY" --runner "$TMPDIR/breaks.sh" --quiet --quick timer frequency > "$TMPDIR/breaks.log" 2>&1
status=$?
[ $status -lt 5 ]
result "remote: a connection that breaks ends the run, with a status ($status)" $? "$TMPDIR/breaks.log"
gone "$there"
result 'remote: nothing is left running' $?
