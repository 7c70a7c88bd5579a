# SPDX-License-Identifier: MIT
# What a callback begins in its caller's stack has to be ended in it.
# expect: reject iterator_leak 14
mov %r1, 10
bpf_loop_on cb, -8
mov %r0, 0
exit
cb:
mov %r1, %r2 # near: mov %r1, %r10
# near: add %r1, -8
mov %r2, 0
mov %r3, 4
call 0x10001
# near: mov %r1, %r10
# near: add %r1, -8
# near: call 0x10003
mov %r0, 0
exit
