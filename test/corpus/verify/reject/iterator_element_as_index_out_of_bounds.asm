# SPDX-License-Identifier: MIT
# The last one is too large.
# expect: reject map_bounds 21
ldxw %r7, [%r1+28]
stw [%r10-12], 0
lddw map %r1, @counts
mov %r2, %r10
add %r2, -12
call 1
mov %r8, %r0
jeq %r8, 0, out
iter_new -8, 0, 65 # near: iter_new -8, 0, 64
next:
iter_next -8
jeq %r0, 0, done
ldxw %r1, [%r0]
mov %r2, %r8
add %r2, %r1
stb [%r2], 1
ja next
done:
iter_end -8
