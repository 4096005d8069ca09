# SPDX-License-Identifier: BSD-3-Clause
"""A PCI device that is not there, for EAL to find: files instead of /sys/bus/pci, and, where a
probe is to go on behind the mapping of BARs, instead of /dev/uioN. Its registers are a file of
zeros: it remembers what is written and never answers."""

import os
import subprocess
import tempfile

from testpmd import scratch

ADDRESS = "0000:00:10.0"
UIO = 977  # no real one has such a number


def bus(device, kernel_driver="uio_pci_generic"):
    """A folder as /sys/bus/pci/devices with one LiquidIO function of a PCI device id; for the
    environment variable SYSFS_PCI_DEVICES."""
    folder = tempfile.mkdtemp(prefix="sys.", dir=scratch)
    here = f"{folder}/{ADDRESS}"
    os.makedirs(f"{here}/uio/uio{UIO}")
    bar = "0x00000000fe000000 0x00000000fe7fffff 0x0000000000040200\n"
    for name, text in (("vendor", "0x177d"), ("device", f"{device:#x}"),
                       ("subsystem_vendor", "0x177d"), ("subsystem_device", "0x0004"),
                       ("class", "0x020000"), ("max_vfs", "0"), ("numa_node", "-1"),
                       ("resource", bar + "0x0 0x0 0x0\n" * 6)):
        with open(f"{here}/{name}", "w", encoding="ascii") as f:
            f.write(text + "\n")
    with open(f"{here}/resource0", "wb") as f:
        f.truncate(8 << 20)
    os.makedirs(f"{folder}/drivers/{kernel_driver}")
    os.symlink(f"{folder}/drivers/{kernel_driver}", f"{here}/driver")
    return folder


# In a mount namespace of its own: /dev and /sys/class with the UIO device in them.
SCRIPT = """
set -e
root=$1 n=$2
shift 2
mount -t tmpfs -o mode=755 none "$root"
mkdir -p "$root/dev" "$root/class/uio/uio$n/device"
for path in /dev/*; do
    name=${path#/dev/}
    if [ -L "$path" ]; then cp -P "$path" "$root/dev/"
    elif [ -d "$path" ]; then mkdir "$root/dev/$name"; mount --rbind "$path" "$root/dev/$name"
    elif [ -e "$path" ]; then : >"$root/dev/$name"; mount --bind "$path" "$root/dev/$name"
    fi
done
head -c 4096 /dev/zero >"$root/dev/uio$n"
head -c 4096 /dev/zero >"$root/class/uio/uio$n/device/config"
echo "999:$n" >"$root/class/uio/uio$n/dev"
mount --rbind "$root/dev" /dev
mount --bind "$root/class" /sys/class
exec "$@"
"""


def uio_wrap():
    """A command to put in front of a program that is to see the UIO device as well. Needs root."""
    root = tempfile.mkdtemp(prefix="ns.", dir=scratch)
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh", root,
            str(UIO)]


def uio_works():
    """Why the above cannot be had here, or None."""
    if os.geteuid() != 0:
        return "needs root"
    r = subprocess.run([*uio_wrap(), "test", "-f", f"/dev/uio{UIO}"], capture_output=True,
                       text=True, check=False)
    return None if r.returncode == 0 else f"no mounts of one's own here: {r.stderr.strip()}"
