/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that the header of the standard ABI leaves out, and that programs written for other headers
 * take for granted: Fortran's handles and statuses as C knows them (MPI-5.0 section 19.3), and the
 * functions that MPI-3.0 removed (its section 16.1) and other libraries still have. Included by
 * mpi.h; a program that wants the ABI's names alone defines HEADWAY_ABI_NAMES_ONLY before.
 *
 * Each is made of the ABI's functions, so a program that uses them still runs with any library of
 * the ABI. Conversions of handles are macros, as the standard allows (section 2.6.4); a program may
 * bring its own, MPI_Comm_f2c among them. Not here, since they need a Fortran library:
 * MPI_F_STATUS_IGNORE and the like.
 *
 * Thread rule and errors: those of the functions they are made of. C99 or C++11 and later.
 */
#ifndef HEADWAY_MPI_BEYOND_ABI_H
#define HEADWAY_MPI_BEYOND_ABI_H

/* As in mpi.h. */
#if defined(__GNUC__)
#pragma GCC system_header
#endif

#ifndef MPI_VERSION
#include "mpi.h"
#endif

/* clang-format off */

/* A Fortran INTEGER. A program whose Fortran has another one says so by MPI_ABI_Fint. */
#ifndef MPI_Fint
#ifndef MPI_ABI_Fint
#define MPI_ABI_Fint int
#endif
typedef MPI_ABI_Fint MPI_Fint;
#undef MPI_ABI_Fint
#endif

/* Handles: the numbers are those of MPI_Comm_toint and its like. */
#ifndef MPI_Comm_f2c
#define MPI_Comm_c2f(comm)                 ((MPI_Fint)MPI_Comm_toint(comm))
#define MPI_Comm_f2c(comm)                 MPI_Comm_fromint((int)(comm))
#define PMPI_Comm_c2f(comm)                ((MPI_Fint)PMPI_Comm_toint(comm))
#define PMPI_Comm_f2c(comm)                PMPI_Comm_fromint((int)(comm))
#define MPI_Errhandler_c2f(errhandler)     ((MPI_Fint)MPI_Errhandler_toint(errhandler))
#define MPI_Errhandler_f2c(errhandler)     MPI_Errhandler_fromint((int)(errhandler))
#define PMPI_Errhandler_c2f(errhandler)    ((MPI_Fint)PMPI_Errhandler_toint(errhandler))
#define PMPI_Errhandler_f2c(errhandler)    PMPI_Errhandler_fromint((int)(errhandler))
#define MPI_File_c2f(file)                 ((MPI_Fint)MPI_File_toint(file))
#define MPI_File_f2c(file)                 MPI_File_fromint((int)(file))
#define PMPI_File_c2f(file)                ((MPI_Fint)PMPI_File_toint(file))
#define PMPI_File_f2c(file)                PMPI_File_fromint((int)(file))
#define MPI_Group_c2f(group)               ((MPI_Fint)MPI_Group_toint(group))
#define MPI_Group_f2c(group)               MPI_Group_fromint((int)(group))
#define PMPI_Group_c2f(group)              ((MPI_Fint)PMPI_Group_toint(group))
#define PMPI_Group_f2c(group)              PMPI_Group_fromint((int)(group))
#define MPI_Info_c2f(info)                 ((MPI_Fint)MPI_Info_toint(info))
#define MPI_Info_f2c(info)                 MPI_Info_fromint((int)(info))
#define PMPI_Info_c2f(info)                ((MPI_Fint)PMPI_Info_toint(info))
#define PMPI_Info_f2c(info)                PMPI_Info_fromint((int)(info))
#define MPI_Message_c2f(message)           ((MPI_Fint)MPI_Message_toint(message))
#define MPI_Message_f2c(message)           MPI_Message_fromint((int)(message))
#define PMPI_Message_c2f(message)          ((MPI_Fint)PMPI_Message_toint(message))
#define PMPI_Message_f2c(message)          PMPI_Message_fromint((int)(message))
#define MPI_Op_c2f(op)                     ((MPI_Fint)MPI_Op_toint(op))
#define MPI_Op_f2c(op)                     MPI_Op_fromint((int)(op))
#define PMPI_Op_c2f(op)                    ((MPI_Fint)PMPI_Op_toint(op))
#define PMPI_Op_f2c(op)                    PMPI_Op_fromint((int)(op))
#define MPI_Request_c2f(request)           ((MPI_Fint)MPI_Request_toint(request))
#define MPI_Request_f2c(request)           MPI_Request_fromint((int)(request))
#define PMPI_Request_c2f(request)          ((MPI_Fint)PMPI_Request_toint(request))
#define PMPI_Request_f2c(request)          PMPI_Request_fromint((int)(request))
#define MPI_Session_c2f(session)           ((MPI_Fint)MPI_Session_toint(session))
#define MPI_Session_f2c(session)           MPI_Session_fromint((int)(session))
#define PMPI_Session_c2f(session)          ((MPI_Fint)PMPI_Session_toint(session))
#define PMPI_Session_f2c(session)          PMPI_Session_fromint((int)(session))
#define MPI_Type_c2f(datatype)             ((MPI_Fint)MPI_Type_toint(datatype))
#define MPI_Type_f2c(datatype)             MPI_Type_fromint((int)(datatype))
#define PMPI_Type_c2f(datatype)            ((MPI_Fint)PMPI_Type_toint(datatype))
#define PMPI_Type_f2c(datatype)            PMPI_Type_fromint((int)(datatype))
#define MPI_Win_c2f(win)                   ((MPI_Fint)MPI_Win_toint(win))
#define MPI_Win_f2c(win)                   MPI_Win_fromint((int)(win))
#define PMPI_Win_c2f(win)                  ((MPI_Fint)PMPI_Win_toint(win))
#define PMPI_Win_f2c(win)                  PMPI_Win_fromint((int)(win))
#endif

/* clang-format on */

/* A status of Fortran's mpi_f08. The array of the older bindings has the same numbers in the same
 * order, MPI_F_STATUS_SIZE of them. */
typedef struct {
    MPI_Fint MPI_SOURCE;
    MPI_Fint MPI_TAG;
    MPI_Fint MPI_ERROR;
    MPI_Fint MPI_internal[5];
} MPI_F08_status;

static inline int MPI_Status_c2f(const MPI_Status* c_status, MPI_Fint* f_status)
{
    f_status[MPI_F_SOURCE] = c_status->MPI_SOURCE;
    f_status[MPI_F_TAG] = c_status->MPI_TAG;
    f_status[MPI_F_ERROR] = c_status->MPI_ERROR;
    for (int i = 0; i < 5; ++i)
        f_status[3 + i] = c_status->MPI_internal[i];
    return MPI_SUCCESS;
}

static inline int MPI_Status_f2c(const MPI_Fint* f_status, MPI_Status* c_status)
{
    c_status->MPI_SOURCE = (int)f_status[MPI_F_SOURCE];
    c_status->MPI_TAG = (int)f_status[MPI_F_TAG];
    c_status->MPI_ERROR = (int)f_status[MPI_F_ERROR];
    for (int i = 0; i < 5; ++i)
        c_status->MPI_internal[i] = (int)f_status[3 + i];
    return MPI_SUCCESS;
}

static inline int MPI_Status_f2f08(const MPI_Fint* f_status, MPI_F08_status* f08_status)
{
    f08_status->MPI_SOURCE = f_status[MPI_F_SOURCE];
    f08_status->MPI_TAG = f_status[MPI_F_TAG];
    f08_status->MPI_ERROR = f_status[MPI_F_ERROR];
    for (int i = 0; i < 5; ++i)
        f08_status->MPI_internal[i] = f_status[3 + i];
    return MPI_SUCCESS;
}

static inline int MPI_Status_f082f(const MPI_F08_status* f08_status, MPI_Fint* f_status)
{
    f_status[MPI_F_SOURCE] = f08_status->MPI_SOURCE;
    f_status[MPI_F_TAG] = f08_status->MPI_TAG;
    f_status[MPI_F_ERROR] = f08_status->MPI_ERROR;
    for (int i = 0; i < 5; ++i)
        f_status[3 + i] = f08_status->MPI_internal[i];
    return MPI_SUCCESS;
}

static inline int MPI_Status_c2f08(const MPI_Status* c_status, MPI_F08_status* f08_status)
{
    MPI_Fint f_status[MPI_F_STATUS_SIZE];
    (void)MPI_Status_c2f(c_status, f_status);
    return MPI_Status_f2f08(f_status, f08_status);
}

static inline int MPI_Status_f082c(const MPI_F08_status* f08_status, MPI_Status* c_status)
{
    MPI_Fint f_status[MPI_F_STATUS_SIZE];
    (void)MPI_Status_f082f(f08_status, f_status);
    return MPI_Status_f2c(f_status, c_status);
}

/* Removed by MPI-3.0; each names its successor. */
typedef MPI_Comm_errhandler_function MPI_Handler_function;

static inline int MPI_Address(void* location, MPI_Aint* address)
{
    return MPI_Get_address(location, address);
}

static inline int MPI_Errhandler_create(MPI_Handler_function* function, MPI_Errhandler* errhandler)
{
    return MPI_Comm_create_errhandler(function, errhandler);
}

static inline int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler* errhandler)
{
    return MPI_Comm_get_errhandler(comm, errhandler);
}

static inline int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler)
{
    return MPI_Comm_set_errhandler(comm, errhandler);
}

static inline int MPI_Type_extent(MPI_Datatype datatype, MPI_Aint* extent)
{
    MPI_Aint lb = 0;
    return MPI_Type_get_extent(datatype, &lb, extent);
}

static inline int MPI_Type_lb(MPI_Datatype datatype, MPI_Aint* displacement)
{
    MPI_Aint extent = 0;
    return MPI_Type_get_extent(datatype, displacement, &extent);
}

static inline int MPI_Type_ub(MPI_Datatype datatype, MPI_Aint* displacement)
{
    MPI_Aint lb = 0;
    const int error = MPI_Type_get_extent(datatype, &lb, displacement);
    if (error == MPI_SUCCESS)
        *displacement += lb;
    return error;
}

static inline int MPI_Type_hvector(int count, int blocklength, MPI_Aint stride,
                                   MPI_Datatype oldtype, MPI_Datatype* newtype)
{
    return MPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype);
}

static inline int MPI_Type_hindexed(int count, int array_of_blocklengths[],
                                    MPI_Aint array_of_displacements[], MPI_Datatype oldtype,
                                    MPI_Datatype* newtype)
{
    return MPI_Type_create_hindexed(count, array_of_blocklengths, array_of_displacements, oldtype,
                                    newtype);
}

static inline int MPI_Type_struct(int count, int array_of_blocklengths[],
                                  MPI_Aint array_of_displacements[], MPI_Datatype array_of_types[],
                                  MPI_Datatype* newtype)
{
    return MPI_Type_create_struct(count, array_of_blocklengths, array_of_displacements,
                                  array_of_types, newtype);
}

#endif /* HEADWAY_MPI_BEYOND_ABI_H */
