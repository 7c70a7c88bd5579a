# SPDX-License-Identifier: MIT
# opts: held
# expect: reject not_pointer 11
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, out
mov %r6, %r0
add %r6, 24 # near: add %r6, 16
jne %r6, 0, done
lddw %r1, 0x1000
stdw [%r1], 42
done:
mov %r1, %r0
mov %r2, 0
call 133
out:
mov %r0, 0
exit
