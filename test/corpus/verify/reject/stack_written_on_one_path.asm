# SPDX-License-Identifier: MIT
# expect: reject stack_uninit 3
# near: stdw [%r10-8], 0
ldxdw %r2, [%r1+8]
jeq %r2, 0, skip
stdw [%r10-8], 1
skip:
ldxdw %r0, [%r10-8]
exit
