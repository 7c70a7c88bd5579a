# SPDX-License-Identifier: MIT
# expect: reject iterator 10
stw [%r10-4], 0
lddw map %r1, @counts
mov %r2, %r10
add %r2, -4
call 1
jeq %r0, 0, out
mov %r1, %r0 # near: mov %r1, %r10
# near: add %r1, -16
mov %r2, 0
mov %r3, 4
call 0x10001
# near: mov %r1, %r10
# near: add %r1, -16
# near: call 0x10003
