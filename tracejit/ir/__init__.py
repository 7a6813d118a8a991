"""The intermediate representation: avals, op records, kernel forms, jaxprs."""
