"""Writes what buildah writes as `oci-archive:FILE`, with the files of each layer."""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path


def an_image(archive: Path, *layers: Mapping[str, str]) -> str:
    """Write the archive of an image, and return its digest."""
    held: dict[str, bytes] = {}

    def kept(content: bytes) -> dict[str, str]:
        digest = hashlib.sha256(content).hexdigest()
        held[f"blobs/sha256/{digest}"] = content
        return {"digest": f"sha256:{digest}"}

    packed = [kept(_tar({name: text.encode() for name, text in layer.items()}, "w:gz")) for layer in layers]
    manifest = kept(json.dumps({"schemaVersion": 2, "layers": packed}).encode())
    held["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [manifest]}).encode()
    archive.write_bytes(_tar(held, "w:"))
    return manifest["digest"]


def _tar(files: Mapping[str, bytes], mode: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()
