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
$ bash -c '. ./x.bash; : > opaque; COMP_WORDS=(xray export --to op); COMP_CWORD=3; _xray; echo "${COMPREPLY[@]}"; COMP_WORDS=(xray diff tl); COMP_CWORD=2; _xray; echo "none: ${COMPREPLY[@]}"; COMP_WORDS=(xray completion z); _xray; echo "${COMPREPLY[@]}"'
openblas
none:*
zsh

# In zsh and fish each command has its own options, too; where these shells are, they say so themselves.
$ xray completion zsh > _xray; head -n 1 _xray; grep -n '^\*) options=(--json\|^export) options=(--to\|^esac' _xray | cut -d: -f2 | cut -c 1-16
*compdef xray
export) options=
*) options=(--js
esac
$ command -v zsh > /dev/null || exit 0; zsh -n _xray; printf '%s\n' 'compadd() { shift; print -l -- "$@"; }' '_files() { :; }' '_describe() { :; }' 'xray() { source ./_xray; }' 'words=(xray export --m) CURRENT=3 PREFIX=--m; xray | grep -c quick' 'words=(xray --q) CURRENT=2 PREFIX=--q; xray | grep -c quick' 'words=(xray export --to "") CURRENT=4 PREFIX=; xray | grep -c openblas' > z; zsh -f z | tr '\n' ' ' > said; test "$(cat said)" = '0 1 1 ' || cat said
$ command -v fish > /dev/null || exit 0; xray completion fish > x.fish; fish -n x.fish; fish --no-config -c 'source x.fish; complete -C "xray export --m"; complete -C "xray --qui"; complete -C "xray export m.json --to openb"; complete -C "xray diff tl"; complete -C "xray show m.json tl"' | cut -f 1 | tr '\n' ' ' > said; test "$(cat said)" = '--min-confidence --quick --quiet openblas tlb ' || cat said
$ xray completion fish | grep -c -- '-l quick'
1
$ xray completion tcsh
2| xray: no completion for 'tcsh'; there is bash, zsh and fish
? 2
