# SPDX-License-Identifier: MIT
# golden
# expect: reject release_null 7
reserve 16
# near: jeq %r0, 0, out
submit %r0
# near: out:
mov %r0, 0
exit
