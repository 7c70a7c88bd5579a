# SPDX-License-Identifier: MIT
# expect: reject pointer_range 23
# The distance of r7 to r9 grows in each iteration and says nothing after it.
stw [%r10-12], 0
ldxw %r6, [%r1+28]
ldxdw %r7, [%r1+8]
mov %r9, %r7
lddw map %r1, @counts
mov %r2, %r10
add %r2, -12
call 1
mov %r8, %r0
jeq %r8, 0, out
iter_new -8, 0, %r6
next:
iter_next -8
jeq %r0, 0, done
add %r7, 1
ja next
done:
sub %r7, %r9
# near: and %r7, 7
add %r8, %r7
stb [%r8], 1
iter_end -8
