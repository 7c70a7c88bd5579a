# SPDX-License-Identifier: MIT
# golden
# expect: reject recursion 1
cb:
mov %r1, 10
bpf_loop cb # near: bpf_loop g
mov %r0, 0
exit
# near: g:
# near: mov %r0, 0
# near: exit
