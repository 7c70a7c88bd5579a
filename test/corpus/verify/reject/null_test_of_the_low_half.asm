# SPDX-License-Identifier: MIT
# expect: reject nullable 7
stw [%r10-4], 4
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq32 %r0, 0, out # near: jeq %r0, 0, out
use:
ldxb %r1, [%r0]
out:
mov %r0, 0
exit
