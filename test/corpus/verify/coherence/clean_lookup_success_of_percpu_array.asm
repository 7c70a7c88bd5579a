# SPDX-License-Identifier: MIT
# expect: accept
# Per-CPU arrays, too, hold all of their elements from the start.
mov %r6, %r1
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @percpu
call 1
jeq %r0, 0, out
stw [%r6+76], 4
out:
mov %r0, 0
exit
