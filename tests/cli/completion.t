# SPDX-License-Identifier: MIT
# Completion comes from the same tables as the help.

$ xray completion bash > x.bash && bash -n x.bash
$ bash -c '. ./x.bash; COMP_WORDS=(xray expo); COMP_CWORD=1; _xray; echo "${COMPREPLY[@]}"'
export
$ bash -c '. ./x.bash; COMP_WORDS=(xray export --m); COMP_CWORD=2; _xray; echo "${COMPREPLY[@]}"'
--min-confidence
$ bash -c '. ./x.bash; COMP_WORDS=(xray tl); COMP_CWORD=1; _xray; echo "${COMPREPLY[@]}"'
tlb
$ for o in $(xray measure --help | grep -oE -- '--[a-z-]+' | sort -u); do grep -q -- "$o" x.bash || echo $o; done
$ xray completion zsh | head -n 1
*compdef xray
$ xray completion fish | grep -c -- '-l quick'
1
$ xray completion tcsh
2| xray: no completion for 'tcsh'; there is bash, zsh and fish
? 2
