# SPDX-License-Identifier: MIT
# the context pointer on the stack is gone when its slot is overwritten
# expect: reject not_pointer 3
stxdw [%r10-8], %r1
stdw [%r10-8], 64 # near: stdw [%r10-16], 64
ldxdw %r1, [%r10-8]
ldxw %r0, [%r1+28]
exit
