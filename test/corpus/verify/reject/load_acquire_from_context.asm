# SPDX-License-Identifier: MIT
# expect: reject ctx_atomic 0
load_acquire64 %r0, [%r1] # near: ldxw %r0, [%r1+76]
exit
