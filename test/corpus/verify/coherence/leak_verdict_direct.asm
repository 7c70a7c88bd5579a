# SPDX-License-Identifier: MIT
# expect: reject local_verdict 1
# flow: copy
ldxw %r0, [%r1+64] # near: ldxw %r0, [%r1+60]
exit
