# SPDX-License-Identifier: MIT
# golden
# expect: reject callback_return 9
mov %r1, 10
bpf_loop cb
mov %r0, 0
exit
cb:
mov %r0, 2 # near: mov %r0, 1
exit
