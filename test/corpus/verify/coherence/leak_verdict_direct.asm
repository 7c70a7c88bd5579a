# SPDX-License-Identifier: MIT
# expect: reject local_verdict 1
ldxw %r0, [%r1+64]
exit
