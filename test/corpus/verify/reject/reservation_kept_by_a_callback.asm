# SPDX-License-Identifier: MIT
# expect: reject reference_leak 14
mov %r1, 20
lddw func %r2, cb
mov %r3, %r10
mov %r4, 0
call 181
mov %r0, 0
exit
cb:
reserve 16
# near: jeq %r0, 0, out
# near: mov %r1, %r0
# near: mov %r2, 0
# near: call 132
# near: out:
mov %r0, 0
exit
