# SPDX-License-Identifier: MIT
# expect: reject stack_uninit 5
# Bytes that one way only writes are read on one way behind the join.
ldxw %r2, [%r1+24]
jeq %r2, 0, join
stdw [%r10-8], 1
join:
ldxw %r2, [%r1+28] # near: ldxw %r0, [%r1+28]
jeq %r2, 0, out
ldxdw %r3, [%r10-8]
