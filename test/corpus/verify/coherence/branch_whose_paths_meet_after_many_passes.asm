# SPDX-License-Identifier: MIT
# Where the paths of n40 meet is only known after as many passes over the
# function as there are steps below it, one more each: too many. Then they
# meet at its end.
# expect: reject local_output 164
# flow: branch
mov %r9, %r1
mov %r8, 0
n40:
add %r8, 1
jgt %r8, 3, up
ldxw %r2, [%r9+64]
# near: ldxw %r2, [%r9+32]
jeq %r2, 0, up
repeat 39 39 -1
n$:
ldxw %r2, [%r9+32]
jeq %r2, 0, n$<
add %r8, 1
jgt %r8, 3, n$<
end
ja out
up:
mov %r3, 2
stxw [%r9+76], %r3
