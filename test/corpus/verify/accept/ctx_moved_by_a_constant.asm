# SPDX-License-Identifier: MIT
# expect: accept
add %r1, 8
ldxdw %r0, [%r1]
exit
