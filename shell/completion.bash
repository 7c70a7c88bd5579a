# SPDX-License-Identifier: MIT
# Completion of ncclbpf-shell for bash: the shell itself knows the grammar
# and the names in the running job.
_ncclbpf_shell() {
	local IFS=$'\n'
	COMPREPLY=($(timeout 1 "${COMP_WORDS[0]}" __complete \
		"${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
	case ${COMPREPLY[0]-} in */ | *=) compopt -o nospace 2>/dev/null ;; esac
}
complete -F _ncclbpf_shell ncclbpf-shell
