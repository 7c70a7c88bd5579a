# SPDX-License-Identifier: MIT
# expect: reject map_bounds 21
ldxw %r7, [%r1+28]
stw [%r10-12], 0
lddw map %r1, @counts
mov %r2, %r10
add %r2, -12
call 1
mov %r8, %r0
jeq %r8, 0, out
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, %r7
call 0x10001
next:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, done
ldxw %r1, [%r0]
# near: jgt %r1, 63, next
mov %r2, %r8
add %r2, %r1
stb [%r2], 1
ja next
done:
mov %r1, %r10
add %r1, -8
call 0x10003
out:
mov %r0, 0
exit
