# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r2, [%r1+64]
and %r2, 7
mov %r3, 0
l:
jge %r3, %r2, done
add %r3, 1
ja l
done:
stw [%r1+76], 4
mov %r0, 0
exit
