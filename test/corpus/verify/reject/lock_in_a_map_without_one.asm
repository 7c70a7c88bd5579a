# SPDX-License-Identifier: MIT
# golden
# expect: reject lock_none 2
# opts: held
lddw map_value %r1, @bss, 0 # near: lddw map_value %r1, @data, 0
call 93
# near: lddw map_value %r1, @data, 0
# near: call 94
mov %r0, 0
exit
