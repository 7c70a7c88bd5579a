#compdef ncclbpf-shell
# SPDX-License-Identifier: MIT
# Completion of ncclbpf-shell for zsh: the shell itself knows the grammar, what
# each word is for, and the names in the running job. Install it as
# _ncclbpf-shell in a folder of $fpath.
local line word
local -a ended open
for line in ${(f)"$(timeout 1 ${(Q)words[1]} __complete --describe \
	"${(@Q)words[2,CURRENT]}" 2>/dev/null)"}; do
	word=${line%%$'\t'*}
	word=${word//:/\\:}
	[[ $line == *$'\t'* ]] && line=$word:${line#*$'\t'} || line=$word
	# A folder and an option go on behind the cursor.
	if [[ $word == *[/=] ]]; then open+=("$line"); else ended+=("$line"); fi
done
(( $#ended )) && _describe -t words word ended
(( $#open )) && _describe -t values value open -S ''
(( $#ended + $#open ))
