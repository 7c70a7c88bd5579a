# SPDX-License-Identifier: MIT
# It returns 0, then 1, and is not called again.
# expect: accept
mov %r1, 10
bpf_loop cb
mov %r0, 0
exit
cb:
mov %r0, %r1
exit
