# The bill of materials of an image as an SPDX 2.3 document (hack/image.sh).
# $inside and $compiled: one line a Debian package, with name, version, architecture, source, its version, maintainer and
# the checksum of the .deb file. $compiled are those whose code the compiler put into the programs.

def id($kind): "SPDXRef-" + $kind + "-" + gsub("[^A-Za-z0-9.-]"; "-");

def packages: split("\n") | map(select(. != "") | split("\t"))
  | map({name: .[0], version: .[1], arch: .[2], source: .[3], source_version: .[4], maintainer: .[5], checksum: .[6]});

def debian($kind): {
  SPDXID: (.name | id($kind)),
  name,
  versionInfo: .version,
  supplier: ("Person: " + .maintainer | sub("^Person: (?<name>[^<]*) <(?<address>.*)>$"; "Organization: \(.name) (\(.address))")),
  downloadLocation: "NOASSERTION",
  filesAnalyzed: false,
  licenseConcluded: "NOASSERTION",
  licenseDeclared: "NOASSERTION",
  licenseComments: "/usr/share/doc/\(.name)/copyright in the image",
  copyrightText: "NOASSERTION",
  sourceInfo: "built from the Debian source package \(.source) \(.source_version)",
  externalRefs: [{
    referenceCategory: "PACKAGE-MANAGER",
    referenceType: "purl",
    referenceLocator: "pkg:deb/debian/\(.name | @uri)@\(.version | @uri)?arch=\(.arch)&distro=debian-12"
  }]
} + (if .checksum == "" then {} else {checksums: [{algorithm: "SHA256", checksumValue: .checksum}]} end);

($inside | packages) as $contained
| ($compiled | packages) as $linked
| ("evacuator" | id("image")) as $image
| {
  spdxVersion: "SPDX-2.3",
  dataLicense: "CC0-1.0",
  SPDXID: "SPDXRef-DOCUMENT",
  name: "evacuator-\($version)-linux-\($arch)",
  documentNamespace: "https://evacuator.dev/spdx/\($version)/\($arch)/\($digest | sub(":"; "-"))",
  creationInfo: {created: $created, creators: ["Organization: Evacuator", "Tool: hack/image.sh"]},
  packages: ([{
    SPDXID: $image,
    name: "evacuator",
    versionInfo: $version,
    packageFileName: $archive,
    supplier: "Organization: Evacuator",
    downloadLocation: "NOASSERTION",
    filesAnalyzed: false,
    licenseConcluded: "NOASSERTION",
    licenseDeclared: "Apache-2.0",
    copyrightText: "NOASSERTION",
    primaryPackagePurpose: "CONTAINER",
    sourceInfo: "commit \($commit)",
    comment: "the image whose manifest has the digest \($digest)",
    externalRefs: [{
      referenceCategory: "PACKAGE-MANAGER",
      referenceType: "purl",
      referenceLocator: "pkg:oci/evacuator@\($digest | @uri)?arch=\($arch)"
    }]
  }] + ($contained | map(debian("deb"))) + ($linked | map(debian("source")))),
  relationships: ([{spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES", relatedSpdxElement: $image}]
    + ($contained | map({spdxElementId: $image, relationshipType: "CONTAINS", relatedSpdxElement: (.name | id("deb"))}))
    + ($linked | map({spdxElementId: $image, relationshipType: "STATIC_LINK", relatedSpdxElement: (.name | id("source"))})))
}
