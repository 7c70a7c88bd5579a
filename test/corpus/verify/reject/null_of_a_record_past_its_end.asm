# SPDX-License-Identifier: MIT
# expect: reject not_pointer 11
reserve 16
jeq %r0, 0, out
mov %r6, %r0
add %r6, 24 # near: add %r6, 16
jne %r6, 0, done
lddw %r1, 0x1000
stdw [%r1], 42
done:
discard %r0
