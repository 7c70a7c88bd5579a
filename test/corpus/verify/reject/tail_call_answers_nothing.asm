# SPDX-License-Identifier: MIT
# Where it falls through, r0 holds nothing.
# expect: reject uninit 4
ldxw %r3, [%r1+28]
lddw map %r2, @loose
call 12
# near: mov %r0, 7
exit
