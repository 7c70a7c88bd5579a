# SPDX-License-Identifier: MIT
# The loop may take no iteration: then nothing was written.
# expect: reject stack_uninit 7
ldxw %r1, [%r1+28]
# near: stdw [%r10-8], 0
lddw func %r2, cb
mov %r3, %r10
add %r3, -8
mov %r4, 0
call 181
ldxdw %r0, [%r10-8]
mov %r0, 0
exit
cb:
stdw [%r2], 7
mov %r0, 0
exit
