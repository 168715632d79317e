# SPDX-License-Identifier: MIT
# What the scripts of this suite share.
result() { # NAME STATUS [LOG]
	if [ "$2" = 0 ]; then
		echo "ok targets: $1"
	else
		[ -n "${3-}" ] && sed 's/^/# /' "$3"
		echo "not ok targets: $1"
	fi
}

# fact DESCRIPTION ID: its value where it is ok (1 and 0 for yes and no), else nothing; told by the C header.
fact() {
	"$XRAY" header "$1" | awk -v name="XRAY_$(echo "$2" | tr 'a-z.' 'A-Z_')" '$1 == "#define" && $2 == name {print $3}' |
		tr -d '"L'
}

# expect NAME DESCRIPTION ID VALUE...: the fact is ok and has this value
expect() {
	is=$(fact "$2" "$3")
	[ "$is" = "$4" ]
	status=$?
	[ $status = 0 ] || { "$XRAY" show --verbose "$2" "$3" | sed 's/^/# /'; }
	result "$1: $3 is $4${is:+ ($is)}" $status
}

# says NAME DESCRIPTION 'MEMBER": "VALUE': what the description says of its target
says() {
	grep -F '"target": {' "$2" | grep -qF "$3"
	result "$1: the description says $3" $?
}

# near NAME DESCRIPTION ID VALUE: the same to a thousandth
near() {
	is=$(fact "$2" "$3")
	awk -v is="${is:-0}" -v wanted="$4" 'BEGIN {exit !(is > wanted * 0.999 && is < wanted * 1.001)}'
	status=$?
	[ $status = 0 ] || { "$XRAY" show --verbose "$2" "$3" | sed 's/^/# /'; }
	result "$1: $3 is $4 to a thousandth${is:+ ($is)}" $status
}

# gone WORDS: nobody runs whose command has these words, after a while for those who are just being killed
gone() {
	for _ in $(seq 120); do
		pgrep -f "$1" > /dev/null 2>&1 || return 0
		sleep 0.5
	done
	return 1
}
