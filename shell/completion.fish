# SPDX-License-Identifier: MIT
# Completion of ncclbpf-shell for fish: the shell itself knows the grammar, what
# each word is for, and the names in the running job.
function __ncclbpf_shell_complete
    set -l before (commandline -opc)
    timeout 1 $before[1] __complete --describe $before[2..-1] (commandline -ct) 2>/dev/null
end
complete -c ncclbpf-shell -f -a '(__ncclbpf_shell_complete)'
